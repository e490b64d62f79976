// What Motion says of each scene, as far as the model does it.

const number = (value) => brief(Number(value.toPrecision(4)));
const named = (one) => quoted(one.label);

// The visible key with the highest score, if scores are known.
function highestScore({ keys, q }) {
    const seen = keys.filter((one) => q && !one.hidden && Number.isFinite(one.raw));
    return seen.sort((a, b) => b.raw - a.raw)[0];
}

// "“was”", "56.6 %": what the stream predicts after the steps of a scene; null: unknown.
function lensWords({ steps, row, sentence }, scene) {
    const read = steps.filter(({ lens, of }) => lens && of && (sceneOfStep(of) === scene)).at(-1);
    return read ? likeliestWords(sentence, row, read.lens) : null;
}

function likeliestWords(sentence, row, step) {
    const [best] = sentence.nextTokens.likeliest(predictedRow(row, sentence), step);
    return [quoted(shown(best.name)), percent(best.share)];
}

const SENTENCES = {
    vector: ({ query, x, steps }) => [
        steps.length
            ? say('# is # numbers: the residual stream, as this layer reads it.', quoted(query),
                x.length)
            : say('# is a vector of # numbers.', quoted(query), x.length),
    ],
    project({ name, q, queries, ways, prefix, x, block, sentence }) {
        const isInput = q && x?.length === q.length && q.every((value, i) => value === x[i]);
        const isNormed = sentence.sites?.includes(`${prefix}q_pre`);
        return [
            isInput && say('This model has no matrices here: query and keys are the vectors.'),
            !isInput && say('# turns it into a query q, and every word into a key k.', name),
            q && say('Both have # numbers.', q.length),
            prefix === 'cross_' && say('The keys are words of the source.'),
            block?.rotates
                ? say('Both are turned by their positions (RoPE).')
                : isNormed && say('Both are normed.'),
            queries.length && say('# heads share keys and values.', queries.length + 1),
            ways.differs && say('Two heads make one context.'),
        ];
    },
    dot(journey) {
        const best = highestScore(journey);
        return [
            say('The query meets each key: multiply the numbers in pairs, add the products.'),
            best && say('Highest: #, #.', named(best), number(best.raw)),
        ];
    },
    scale(journey) {
        const { index, own, q, tensor, ways } = journey;
        const best = highestScore(journey);
        if (!best) return [say('The scores are scaled.')];
        const [root, change] = [Math.sqrt(q.length),
            `${number(best.raw)} → ${number(best.scaled)}`];
        const why = 'Divide by √# = #, so that scores do not grow with the size of vectors: #.';
        const divides = say(why, q.length, root.toFixed(2), change);
        const isRoot = Math.abs(tensor.scale * root - 1) < 1e-4;
        return [
            isRoot && divides,
            tensor.scale === 1 && !isRoot && say('This model does not divide by √d: #.', change),
            tensor.scale !== 1 && !isRoot && say('Multiply by #: #.', number(tensor.scale), change),
            ways.cap > 0 && say('Scores are capped at ±#.', ways.cap),
            ways.slopes[tensor.heads?.[index]] > 0 && say('ALiBi: less for each word of distance.'),
            ways.alibi === 'table' && own && say('A learned number for the distance is added.'),
        ];
    },
    mask({ keys, own, query, ways, prefix, tensor }) {
        const hidden = keys.filter((one) => one.hidden);
        const counts = [hidden.length, keys.length, ways.linear ? '0' : '−∞'];
        const after = 'Masked after the softmax: # of # keys get 0; the others make up 1.';
        if (ways.renormalise) return [say(after, ...counts)];
        if (!hidden.length && (prefix || !tensor.causal))
            return [say('Nothing is masked: the query sees all keys, before it and after it.')];
        if (!hidden.length) return [say('Nothing to mask: # is the last word.', quoted(query))];
        const isFar = own && hidden.some((one) => one.j < own.j);
        return [
            say('Later words are masked: # of # keys get #.', ...counts),
            isFar && say('Among them are words that are too far away.'),
        ];
    },
    softmax({ keys, order, sink, sum, ways }) {
        const [top] = [...keys].sort((a, b) => b.share - a.share);
        const total = Number.isFinite(sum) && number(sum);
        if (!order.length) return [say('No key is visible.')];
        return [
            total && ways.linear && say('No softmax: the scores are divided by their sum, #.',
                total),
            total && !ways.linear && say('Softmax: exponentials divided by their sum, #.', total),
            say('# gets # of the attention.', named(top), percent(top.share)),
            sink > 0 && say('A sink, which is no word, takes #.', percent(sink)),
        ];
    },
    values: ({ ways }) => [
        ways.differs
            ? say('The weights of a second head, times λ, are subtracted: the rest weighs v.')
            : say('Each visible word offers its value v; its weight says how much of it passes.'),
    ],
    sum({ own, order, query }) {
        const top = order.find((one) => one !== own && Math.abs(one.by) > 0.01);
        const adds = say('The weighted values add up to the context');
        if (!own) return [`${adds}${say(', mostly of #.', named(order[0]))}`];
        if (!top) return [`${adds}${say(': it stays at #.', quoted(query))}`];
        return [`${adds}${say(': it moves from # towards #.', quoted(query), named(top))}`];
    },
    map({ name, query, order: [top] }) {
        const reads = top && [quoted(query), named(top), brief(Number(top.weight.toPrecision(3)))];
        return [
            say('# keeps a state in place of a softmax.', name),
            top && say('Of what earlier words wrote, # reads most of #: #.', ...reads),
        ];
    },
    heads: ({ tensor: { shape } }) => [
        shape[0] > 1 && say('All # heads did this at once.', shape[0]),
        say('The contexts, times W_O, are what attention adds.'),
    ],
    stream(journey) {
        const { query, sentence, layer, steps } = journey;
        const blocks = sentence.blocks[layer];
        const mlp = blocks.findIndex((one) => one.kind === 'MLP');
        const kinds = steps.map((one) => one.kind);
        const lens = lensWords(journey, 'stream');
        return [
            mlp > 0 && !blocks[mlp - 1].sums.length
                ? say('Attention and MLP read the same stream; both are added to that of #.',
                    quoted(query))
                : say('The result is added to the stream of #.', quoted(query)),
            kinds.includes('norm') && say('Then the sum is normed.'),
            kinds.includes('after') && say('This model also scales or mixes the sum.'),
            lens && say('Read as a prediction, the stream now says # (#).', ...lens),
        ];
    },
    mlp(journey) {
        const lens = lensWords(journey, 'mlp');
        const next = motionTensors()[journey.at + 1]?.layer;
        return [
            say('The MLP adds its part.'),
            lens && !next && say('After the last layer the stream says #: #.', ...lens),
            lens && next && say('Now the stream says # (#).', ...lens),
            next > journey.layer + 1 && say('The next attention is in layer #.', next),
            next === journey.layer + 1 && say('This stream enters layer #.', next),
        ];
    },
    predict({ query, row, sentence }) {
        const words = sentence.masks ? 'The prediction at #: #, #.'
            : 'The prediction after #: #, #.';
        return [say(words, quoted(query), ...likeliestWords(sentence, row))];
    },
};

function sceneWords(journey, scene) {
    const { layer, prefix, sentence } = journey;
    const kind = prefix === 'cross_' ? 'cross-attention' : 'attention';
    const blocks = (prefix !== 'enc.' && sentence.blocks?.[layer]) || [];
    const block = blocks.find((one) => one.kind === kind);
    const parts = SENTENCES[scene]({ ...journey, block });
    return parts.filter(Boolean).join(isChinese() ? '' : ' ');
}
