"""Rate laws of other authors, one program (`precog_sim.network.program`) a file, in float."""
