// The most likely tokens after each token, or at masks: of the model, and after each step before.

class NextTokens {
    constructor(json) {
        this.names = new Map();
        for (let i = 0; i < json.names.length; i += 2)
            this.names.set(json.names[i], json.names[i + 1]);
        this.layers = json.layers.map((layer) => ({
            ...layer,
            logprobs: decodeExact(layer.logprobs),
            came: decodeExact(layer.came),
        }));
    }

    likeliest(place, layer = this.layers.at(-1)) {
        const { count } = layer;
        return Array.from({ length: count }, (_, i) => ({
            id: layer.ids[place * count + i],
            name: this.names.get(layer.ids[place * count + i]),
            share: Math.exp(layer.logprobs[place * count + i]),
        }));
    }

    // The probability of a token; of one that is not stored an upper bound.
    shareOf(id, place, layer = this.layers.at(-1)) {
        const list = this.likeliest(place, layer);
        const found = list.find((one) => one.id === id);
        return found ? found.share : Math.min(list.at(-1).share, 0.0004);
    }

    // Minus the log-probability of a token given those before it; NaN for the first.
    surprisal(place) {
        return place ? -this.layers.at(-1).came[place - 1] : NaN;
    }
}

function stepName({ step, layer }) {
    return step === 'embedding' ? step : `${step === 'mlp' ? 'MLP' : step} ${layer}`;
}
