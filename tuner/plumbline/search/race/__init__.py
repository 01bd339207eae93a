"""One race: candidates of many cells measured side by side until it is clear which is best."""
