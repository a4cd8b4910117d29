"""The same maximum without the batch axis: one district alone, many districts together."""
