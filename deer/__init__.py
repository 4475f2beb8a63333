"""deer-temporal: what both sides of Temporal share. Importing this package does nothing."""
