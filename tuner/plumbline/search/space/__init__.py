"""The choices that there are: candidates, cells, and what trials say of them."""
