"""The receiver: samples that it hears, and the paths that it estimates from them."""
