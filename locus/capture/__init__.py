"""Your own data: locate a transmitter from your floor plan and IQ capture."""
