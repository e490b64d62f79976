// The scenes of Motion: the title, the seconds and what is said of each, as far as the model does
// it. Sentences that do not hold are false.

const named = (one) => quoted(one.label);

// The visible key with the highest score, if scores are known.
function highestScore({ keys, q }) {
    const seen = keys.filter((one) => q && !one.hidden && Number.isFinite(one.raw));
    return seen.sort((a, b) => b.raw - a.raw)[0];
}

// "“was”", "56.6 %": what is predicted at the query.
function likeliestWords(journey, step) {
    const [best] = likeliestOf(journey, step);
    return [quoted(shown(best.name)), percent(best.share)];
}

// What the stream predicts after a scene, if that is known; not in the steps of a lesson.
function lensWords(journey, scene) {
    const read = journey.steps.findLast((one) => one.lens && one.part && one.scene === scene);
    return read && !motion.step?.scenes && likeliestWords(journey, read.lens);
}

const SCENES = {
    vector: ['Vector', 2, ({ query, x, steps }) => [
        steps.length
            ? say('# is # numbers: the residual stream, as this layer reads it.', quoted(query),
                x.length)
            : say('# is a vector of # numbers.', quoted(query), x.length),
    ]],
    project: ['q, k', 2.5, ({ name, q, isInput, queries, ways, prefix, part, layer, sentence }) => {
        const blocks = (prefix !== 'enc.' && sentence.blocks?.[layer]) || [];
        const isNormed = sentence.sites?.includes(`${prefix}q_pre`);
        return [
            isInput ? say('This model has no matrices here: query and keys are the vectors.')
                : say('# turns it into a query q, and every word into a key k.', name),
            q && say('Both have # numbers.', q.length),
            prefix === 'cross_' && say('The keys are words of the source.'),
            blocks.find(({ kind }) => kind === part)?.rotates
                ? say('Both are turned by their positions (RoPE).')
                : isNormed && say('Both are normed.'),
            queries.length && say('# heads share keys and values.', queries.length + 1),
            ways.differs && say('Two heads make one context.'),
        ];
    }],
    dot: ['q · k', 4, (journey) => {
        const best = highestScore(journey);
        return [
            say('The query meets each key: multiply the numbers in pairs, add the products.'),
            best && say('Highest: #, #.', named(best), brief(best.raw)),
        ];
    }],
    scale: ['÷ √d', 2.5, (journey) => {
        const { index, own, q, scale, tensor, ways } = journey;
        const best = highestScore(journey);
        if (!best) return [say('The scores are scaled.')];
        const [root, change] = [Math.sqrt(q.length), `${brief(best.raw)} → ${brief(best.scaled)}`];
        const why = 'Divide by √# = #, so that scores do not grow with the size of vectors: #.';
        return [
            dividesByRoot(journey) ? say(why, q.length, root.toFixed(2), change)
                : scale === 1 ? say('This model does not divide by √d: #.', change)
                : say('Multiply by #: #.', brief(scale), change),
            ways.cap > 0 && say('Scores are capped at ±#.', ways.cap),
            ways.slopes[tensor.heads?.[index]] > 0 && say('ALiBi: less for each word of distance.'),
            ways.alibi === 'table' && own && say('A learned number for the distance is added.'),
        ];
    }],
    mask: ['Mask', 2, (journey) => {
        const { keys, own, query, ways } = journey;
        const hidden = keys.filter((one) => one.hidden);
        const counts = [hidden.length, keys.length, ways.linear ? '0' : '−∞'];
        const after = 'Masked after the softmax: # of # keys get 0; the others make up 1.';
        if (ways.renormalise) return [say(after, ...counts)];
        if (seesAll(journey))
            return [say('No causal mask hides keys: the query sees those before it and after it.')];
        if (!hidden.length) return [say('Nothing to mask: # is the last word.', quoted(query))];
        const isFar = own && hidden.some((one) => one.j < own.j);
        return [
            say('Later words are masked: # of # keys get #.', ...counts),
            isFar && say('Among them are words that are too far away.'),
        ];
    }],
    softmax: ['Softmax', 4, ({ keys, order, sink, sum, ways }) => {
        if (!order.length) return [say('No key is visible.')];
        const [top] = [...keys].sort((a, b) => b.share - a.share);
        const divides = ways.linear ? 'No softmax: the scores are divided by their sum, #.'
            : 'Softmax: exponentials of score − highest, divided by their sum, #.';
        return [
            Number.isFinite(sum) && say(divides, brief(sum)),
            say('# gets # of the attention.', named(top), percent(top.share)),
            sink > 0 && say('A sink, which is no word, takes #.', percent(sink)),
        ];
    }],
    values: ['Values', 2.5, ({ ways }) => [
        ways.differs
            ? say('The weights of a second head, times λ, are subtracted: the rest weighs v.')
            : say('Each visible word offers its value v; its weight says how much of it passes.'),
    ]],
    sum: ['Sum', 4, ({ isInput, order: [top] }) => [
        say('The weighted # add up to the context: # has the largest weight, #.',
            say(isInput ? 'embeddings' : 'values'), named(top),
            brief(Number(top.by.toPrecision(2)))),
    ]],
    map: ['Map', 4, ({ name, query, order: [top] }) => [
        say('# keeps a state in place of a softmax.', name),
        top && say('Of what earlier words wrote, # reads most of #: #.', quoted(query), named(top),
            brief(Number(top.weight.toPrecision(3)))),
    ]],
    heads: ['Heads', 2.5, ({ tensor: { shape } }) => [
        shape[0] > 1 && say('All # heads did this at once.', shape[0]),
        say('The contexts, times W_O, are what attention adds.'),
    ]],
    stream: ['Stream', 3, (journey) => {
        const { query, sentence, layer, steps } = journey;
        const blocks = sentence.blocks[layer];
        const mlp = blocks.findIndex((one) => one.kind === 'MLP');
        const has = (kind) => steps.some((one) => one.kind === kind);
        const lens = lensWords(journey, 'stream');
        return [
            mlp > 0 && !blocks[mlp - 1].sums.length
                ? say('Attention and MLP read the same stream; both are added to that of #.',
                    quoted(query))
                : say('The result is added to the stream of #.', quoted(query)),
            has('norm') && say('Then the sum is normed.'),
            has('after') && say('This model also scales or mixes the sum.'),
            lens && say('Read as a prediction, the stream now says # (#).', ...lens),
        ];
    }],
    mlp: ['MLP', 3, (journey) => {
        const lens = lensWords(journey, 'mlp');
        const next = motionTensors()[journey.at + 1]?.layer;
        const says = next ? 'Now the stream says # (#).'
            : 'After the last layer the stream says #: #.';
        return [
            say('The MLP adds its part.'),
            lens && say(says, ...lens),
            next > journey.layer + 1 && say('The next attention is in layer #.', next),
            next === journey.layer + 1 && say('This stream enters layer #.', next),
        ];
    }],
    predict: ['Prediction', 3, (journey) => {
        const words = journey.sentence.masks ? 'The prediction at #: #, #.'
            : 'The prediction after #: #, #.';
        return [say(words, quoted(journey.query), ...likeliestWords(journey))];
    }],
};

// The scenes of a layer, as far as the model has them.
function scenesOf(at) {
    const { x, steps, contexts, layer, tensor, ways } = journeyOf(at);
    const ends = motionTensors()[at + 1]?.layer !== layer; // else a mixer and attention
    const weighs = ways.renormalise ? ['softmax', 'mask'] : ['mask', 'softmax'];
    return [
        x && 'vector',
        ...(tensor.isMixer ? ['map']
            : ['project', 'dot', !ways.linear && 'scale', ...weighs, 'values', 'sum']),
        contexts.length && steps.length && 'heads',
        ends && steps.length > 1 && 'stream',
        ends && steps.some(({ part }) => part === 'MLP') && 'mlp',
    ].filter(Boolean);
}

function sceneName(journey, scene) {
    if (scene === 'softmax' && journey.ways.linear) return say('÷ sum');
    if (scene === 'mask' && seesAll(journey)) return say('No mask');
    if (scene === 'scale' && journey.q) return scaleWord(journey) || say('no scale');
    return say(SCENES[scene][0]);
}

const sceneWords = (journey, scene) =>
    SCENES[scene][2](journey).filter(Boolean).join(isChinese() ? '' : ' ');

const seesAll = ({ keys, prefix, tensor }) =>
    (prefix || !tensor.causal) && !keys.some((one) => one.hidden);

const dividesByRoot = ({ scale, q }) => Math.abs(scale * Math.sqrt(q.length) - 1) < 1e-4;

// "÷ √24", "× 0.5", with what else changes the scores.
function scaleWord(journey) {
    const { ways, scale, q, own } = journey;
    const by = scale === 1 || ways.linear ? '' : dividesByRoot(journey) ? `÷ √${q.length}`
        : `× ${brief(scale)}`;
    const isBiased = ways.slopes.some((slope) => slope > 0) || (ways.alibi === 'table' && own);
    return [by, isBiased && say('+ bias'), ways.cap > 0 && say('capped')].filter(Boolean).join(' ');
}
