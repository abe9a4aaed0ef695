"""What blocks with state of each queue pair take of an ECP5, from 64 to 16,384 queue pairs."""
