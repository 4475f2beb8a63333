"""The outside world as Temporal sees it: each paid or fallible act is one activity."""
