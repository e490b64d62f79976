#!/usr/bin/env python3
"""Write random texts from a grammar: the corpus of the bundled model tiny.

    python3 models/fables.py GRAMMAR [--count N] [--seed N] [--rule NAME] > texts.txt

The same seed gives the same texts on every machine. A grammar has one rule per line; a line that
begins with a blank continues the rule above; # begins a comment line.

    story = *3 The <s:noun> near the <noun!s> <be/s> old. | <n:name> sees <m:name!n>. <n> waves.
    noun  = key #one | keys #many
    be    = is #one | are #many
    name  = Anna | Ben

Alternatives are separated by |. *3 at the beginning is a weight (default 1), #one at the end a tag;
an alternative without a tag is its own tag. <rule> draws an alternative, <s:rule> also remembers it
as s, and <s> repeats it; <rule/s> draws only among alternatives with the tag of s, <rule!s> only
among the others. A backslash makes the next character plain. The first rule makes a text.
"""
import argparse
import re
import sys

MASK = (1 << 64) - 1


def mix64(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def fold_in(key, number):
    return mix64(mix64(key + 0x9E3779B97F4A7C15 & MASK) ^ (number * 0xD1342543DE82EF95 + 1 & MASK))


def fail(message):
    sys.exit(f"fables.py: error: {message}")


def read_choice(text, rules):
    """Read an alternative: (weight, tag, parts). A part is a text or (name, rule, sign, like)."""
    weight = re.match(r"\*([0-9]+) ", text)
    text = text[weight.end():].strip() if weight else text
    tag = re.search(r"(^| )(#[\w-]+)$", text)
    name = tag[2] if tag else text
    text = text[:tag.start()].strip() if tag else text
    parts = []
    for plain, inner in re.findall(r"((?:\\.|[^<\\])+)|<([^>]*)>", text):
        if plain:
            parts.append(re.sub(r"\\(.)", r"\1", plain))
            continue
        found = re.fullmatch(r"(?:([\w-]+):)?([\w-]+)(?:([/!])([\w-]+))?", inner)
        if not found or (found[1] and found[2] not in rules):
            fail(f"expected <rule>, <name:rule>, <name>, <rule/name> or <rule!name>, found <{inner}>")
        remembered, rule, sign, like = found.groups()
        parts.append((remembered, rule, sign, like) if rule in rules else (rule, None, None, None))
    return int(weight[1]) if weight else 1, name, parts


def read_grammar(path):
    """Read a grammar as {rule: [(weight, tag, parts)]}, in the order of the file."""
    bodies = {}
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("#") or not line.strip():
            continue
        if line[0] not in " \t":
            rule, equals, line = line.partition("=")
            name = rule.strip()
            if not equals or not re.fullmatch(r"[\w-]+", name) or name in bodies:
                fail(f"'{path}' line {number}: expected a new rule, 'name = ...'")
            bodies[name] = ""
        bodies[name] += " " + line
    rules = {}
    for name, body in bodies.items():
        choices = re.findall(r"(?:\\.|[^|\\])+", " ".join(body.split()))
        rules[name] = [read_choice(choice.strip(), bodies) for choice in choices]
    return rules


class Text:
    """A text with its remembered parts and the count of random numbers that it has drawn."""

    def __init__(self, rules, key):
        self.rules, self.key, self.drawn, self.memory = rules, key, 0, {}

    def draw(self, rule, sign=None, like=None):
        tag = self.memory[like][1] if like else None
        choices = [choice for choice in self.rules[rule]
                   if not sign or (choice[1] == tag) == (sign == "/")]
        total = sum(weight for weight, _, _ in choices)
        if not total:
            fail(f"rule '{rule}' has no alternative for <{rule}{sign}{like}>")
        number = fold_in(self.key, self.drawn) * total >> 64
        self.drawn += 1
        for weight, name, parts in choices:
            if number < weight:
                return "".join(map(self.part, parts)), name
            number -= weight

    def part(self, part):
        if isinstance(part, str):
            return part
        name, rule, sign, like = part
        if rule:
            text = self.draw(rule, sign, like)
            if name:
                self.memory[name] = text
            return text[0]
        return self.memory[name][0]


def main():
    parser = argparse.ArgumentParser(description="write texts drawn from a grammar")
    parser.add_argument("grammar")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rule", help="rule that makes a text (default: the first)")
    options = parser.parse_args()
    rules = read_grammar(options.grammar)
    first = options.rule or next(iter(rules), None)
    if first not in rules:
        fail(f"'{options.grammar}': no rule '{first}'")
    for number in range(options.count):
        print(Text(rules, fold_in(options.seed, number)).draw(first)[0])


if __name__ == "__main__":
    main()
