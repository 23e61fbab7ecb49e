"""Own data: rooms and captures of the user's, and where the transmitter may be."""
