BEGIN {
    split("a b c d e f g h i j", w, " ")
    for (n = 0; n < 200; n++) {
        line = same = from = to = ""
        for (i = 0; i < 10; i++) {
            line = line " " w[(7 * n + i) % 10 + 1]
            same = same " " w[(7 * n) % 10 + 1]
        }
        for (i = 0; i <= n % 3 + 1; i++) {
            word = w[(n * 11 + i * (3 + n % 4)) % 6 + 1]
            from = from " " word
            to = word " " to
        }
        print line >"lines"
        print same >"same"
        print (n ? "" : "source\ttext\n") substr(from, 2) "\t" to >"pairs.tsv"
    }
}
