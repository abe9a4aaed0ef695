"""The application block of the open-source NIC Corundum, with a Precog NIC at its packet taps."""
