"""Sentences for tokenizers and models, drawn from tables: the same on every machine."""

WORDS = {
    "English": "the old keys to cabinet are on table and she doesn't know who'd left them there "
               "because nobody's ever asked whether Mary gave John 3 apples in 1984 or 12,345.67",
    "German": "die Schlüssel für den großen Schrank liegen auf dem Tisch weil niemand wußte daß "
              "Übermut häufig schädlich wäre",
    "French": "l'élève qui n'a pas mangé s'est endormi près d'où naît le fleuve à Noël où ça coûte",
    "Turkish": "ağaç İstanbul'da ışık çok güzel öğrenci şimdi gidiyorum",
    "Vietnamese": "một người đàn ông đã đi qua cầu để gặp bạn của mình ở chợ",
    "Greek": "ἐν ἀρχῇ ἦν ὁ λόγος και η γάτα κοιμάται πάνω στο τραπέζι",
    "Russian": "все счастливые семьи похожи друг на друга ёж съел ещё этих мягких булок",
    "Arabic": "في البدء كان الكَلِمَةُ والقطة تنام على الطاولة ١٢٣",
    "Hebrew": "בראשית ברא אלהים את השמים ואת הארץ שָׁלוֹם",
    "Hindi": "आदमी किताब पढ़ रहा है और बच्चे खेलते हैं १२३",
    "Thai": "แมว นอน อยู่ บน โต๊ะ และ เด็ก กำลัง อ่าน หนังสือ",
    "Chinese": "道可道 非常道 猫在桌子上睡觉 我们 一九八四年 龍 說",
    "Japanese": "吾輩は猫である 名前はまだ無い カタカナ ひらがな 東京",
    "Korean": "고양이가 탁자 위에서 자고 있다 아이들은 책을 읽는다",
    "Georgian": "კატა მაგიდაზე ძინავს და ბავშვები კითხულობენ",
    "code": "for(i=0;i<n;++i){a[i]+=b[i];} def f(x): return x**2 #include <stdio.h> 0xFF != NULL "
            "x->y\t&& !z SELECT * FROM t WHERE a_b='c'; https://example.org/a?b=c&d=%20",
    "signs": "🙂 👩‍👩‍👧 🇫🇷 € ½ ∑ → … “quoted” ‘so’ — – ﬁ Å Å é é ​ \u00a0 \u3000 \ufeff � µ ≠ 𝔘𝔫𝔦",
}
JOINS = [" ", " ", " ", "  ", ", ", ". ", "-", "\n", "\n\n", "   ", "\t", "; ", "! ", "? ", ": "]


def draw(seed):
    """A linear congruential generator: pseudorandom numbers, the same on every machine."""
    while True:
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**64
        yield seed >> 33


def sentences(count=1000):
    """Sentences of one script, every seventh of two, with many separators and outer spaces."""
    numbers = draw(7)
    scripts = [words.split(" ") for words in WORDS.values()]
    found = []
    for i in range(count):
        tables = [scripts[i % len(scripts)], scripts[next(numbers) % len(scripts)]]
        text = ["", "", "", " ", "  ", "\n"][next(numbers) % 6]
        for place in range(1 + next(numbers) % 14):
            table = tables[next(numbers) % 2 if i % 7 == 0 else 0]
            if place:
                text += JOINS[next(numbers) % len(JOINS)] if next(numbers) % 3 == 0 else " "
            word = table[next(numbers) % len(table)]
            text += [word, word, word, word.upper(), word.capitalize()][next(numbers) % 5]
        text += ["", "", ".", " ", "\n"][next(numbers) % 5]
        found.append(text)
    return found


TEXTS = [  # inputs of models
    "The keys to the cabinet are on the table.",
    "When Mary and John went to the store, John gave a drink to Mary. When Mary and John",
    "Le chat dort sur la table, et les enfants lisent 3 livres en 1984.",
    "for (int i = 0; i < n; i++) sum += a[i] * b[i];",
]
GREEDY = [  # prompts
    "The capital of France is", "Once upon a time, there was a",
    "def fibonacci(n):", "Water boils at a temperature of", "The opposite of hot is",
]
