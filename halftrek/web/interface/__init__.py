"""The interface described: what every address takes and gives, as JSON Schema and as OpenAPI."""
