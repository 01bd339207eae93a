"""What may be chosen where: candidates, cells, and what trials say of them."""
