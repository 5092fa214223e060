"""What every mechanism is made of: attend, scores, masks, hard choices, recurrent reading."""
