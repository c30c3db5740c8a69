// A library has at least one source of its own; all it holds is in fb_shim_rdmacm.
