"""The live lab: Linux guests with soft-RoCE whose frames pass through Precog devices."""
