"""The outside world as implementations of the ports. Importing this package does nothing."""
