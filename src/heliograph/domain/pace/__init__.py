"""The pace at which an operator is sent to: token bucket, timetable, pauses, congestion."""
