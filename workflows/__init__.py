"""The flow, deterministic: what is decided here is replayed from Temporal's history."""
