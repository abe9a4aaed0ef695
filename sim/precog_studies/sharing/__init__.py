"""What shared statistics are worth: new flows that start at the rate their fleet tells of."""
