# Of scores of texts with two more tokens: the best text whose first new token is not `end`, or that
# ends with it.
$2 == 3 { first = $5; id = $3 }
$2 == 4 {
    mean = id == end ? first : (first + $5) / 2
    if (!(id == end && seen++) && (best == "" || mean > top)) {
        top = mean
        best = id == end ? "4,9,3" : "4,9,3," id ($3 == end ? "" : "," $3)
    }
}
END { print best }
