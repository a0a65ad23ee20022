"""The course: opening a notebook, predictions, exercises that answer, and what a learner has done."""
