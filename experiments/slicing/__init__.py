"""The tables of the slicing mechanism (Greenewald, Yu, Wang and Xu 2024) again, and what its noise costs."""
