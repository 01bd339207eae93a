"""Cost models: what algorithms should take here, and what no algorithm can do better."""
