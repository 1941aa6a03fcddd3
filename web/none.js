// uPlot was not there when this was built.
