"""Mixed-integer programs, one a person, solved by HiGHS: a second opinion and the way of last resort."""
