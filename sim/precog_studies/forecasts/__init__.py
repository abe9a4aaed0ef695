"""Study: how good forecasts of send queues are, offline."""
