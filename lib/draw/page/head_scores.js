// What heads do, where the page knows it: names, scores as `heads` wrote them, heads in the order
// of a score.

class HeadScores {
    constructor(json) {
        this.names = json.names;
        this.heads = new Map(json.heads.map((one) => [`${one.layer}.${one.head}`, one]));
    }

    // Of a head of a tensor; null where nothing is known of it.
    of(tensor, index) {
        const grouped = /^[kv](_pre)?$/.test(tensor.tensor);
        const others = /^(enc\.|cross_)/.test(tensor.tensor) || tensor.layer === null;
        const shared = grouped && tensor.sentence.attention.queries_of_a_key > 1;
        if (others || shared || !tensor.heads || index === 'mean') return null;
        return this.heads.get(`${tensor.layer}.${tensor.heads[index]}`) || null;
    }

    // As it was written; '' where there is none.
    text(known, name) {
        return known ? known.values[this.names.indexOf(name)] || '' : '';
    }

    value(known, name) {
        const text = this.text(known, name);
        return text === '' ? -Infinity : Number(text);
    }
}

function knownOf(tensor, index) {
    const { scores } = tensor.sentence;
    return scores ? scores.of(tensor, index) : null;
}

// What a head clearly is: "induction"; '' for nothing of that kind.
function headRole(tensor, index) {
    return knownOf(tensor, index)?.name || '';
}

// All scores of a head: "previous-token 0.92619604 · …".
function scoreWords(tensor, index) {
    const known = knownOf(tensor, index);
    if (!known) return '';
    return tensor.sentence.scores.names.map((name, i) => `${name} ${known.values[i]}`).join(' · ');
}

// All heads of the layers of a kind, from the highest score on.
function headsByScore(tensors, name) {
    const { scores } = tensors[0].sentence;
    const heads = tensors.flatMap((tensor, row) =>
        [...Array(tensor.shape[0]).keys()].map((index) => ({
            row,
            index,
            known: scores.of(tensor, index),
        })),
    );
    return heads.sort((a, b) => scores.value(b.known, name) - scores.value(a.known, name));
}

// A line of them, below a name.
function drawScores(parent, tensor, index) {
    const words = [headRole(tensor, index), scoreWords(tensor, index)].filter(Boolean);
    if (words.length) parent.append(element('p', words.join(' · '), 'caption scores'));
}
