"""Which rows agree with which: by key, by band, along the sources of a block. Ids in, pairs out; no state."""
