"""Words for notebook 02: groups for a map, questions for arithmetic with vectors."""

GROUPS = {
    "countries": "France Italy Spain Germany Japan China Egypt",
    "capitals": "Paris Rome Madrid Berlin Tokyo Beijing Cairo",
    "fruit": "apple pear banana peach lemon cherry",
    "colours": "red blue green yellow black white",
    "days": "Monday Tuesday Friday Sunday",
    "people": "king queen prince princess man woman boy girl",
}

QUESTIONS = (  # a is to b as c is to …
    "man king woman queen",
    "man woman boy girl",
    "father mother son daughter",
    "uncle aunt brother sister",
    "he his she her",
    "France Paris Germany Berlin",
    "France Paris Japan Tokyo",
    "France Paris Italy Rome",
    "Spain Madrid Italy Rome",
    "France French Germany German",
    "cat cats dog dogs",
    "apple apples banana bananas",
    "walk walked talk talked",
    "go went see saw",
    "big bigger small smaller",
    "good better bad worse",
    "big large small tiny",
    "hot cold big small",
    "day night summer winter",
    "one two three four",
)
