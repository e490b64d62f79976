// What comes next after each token, and what temperature, top-k and top-p make of it, as
// lib/model/sampler.h has it: temperature, then top-k (equals of the k-th stay), then top-p.

class NextTokens {
    constructor(json) {
        this.vocabulary = json.vocabulary;
        this.names = new Map();
        for (let i = 0; i < json.names.length; i += 2)
            this.names.set(json.names[i], json.names[i + 1]);
        this.layers = json.layers.map((layer) => ({
            ...layer,
            logprobs: decodeExact(layer.logprobs),
            came: decodeExact(layer.came),
            entropies: decodeExact(layer.entropies),
        }));
    }

    get last() {
        return this.layers.at(-1);
    }

    // The likeliest after a token, at a layer.
    likeliest(place, layer = this.last) {
        const { count } = layer;
        return Array.from({ length: count }, (_, i) => ({
            name: this.names.get(layer.ids[place * count + i]),
            logprob: layer.logprobs[place * count + i],
        }));
    }

    // How likely a token was at its place, and its rank; NaN and 0 of the first.
    came(place, layer = this.last) {
        return place ? { logprob: layer.came[place - 1], rank: layer.ranks[place - 1] } : null;
    }

    // Σ p^e of the tokens that are not listed, least and most, by what is known of them: how many
    // they are, what they hold together, and that none is likelier than the last one listed.
    restPower(listed, power) {
        const others = this.vocabulary - listed.length;
        const mass = Math.max(0, 1 - listed.reduce((sum, one) => sum + Math.exp(one.logprob), 0));
        if (!others || !mass) return [0, 0];
        const most = Math.exp(listed.at(-1).logprob) ** (power - 1) * mass;
        const even = others ** (1 - power) * mass ** power;
        if (power === 1) return [mass, mass];
        return power > 1
            ? [even, Math.min(most, mass ** power)]
            : [Math.max(most, mass ** power), even];
    }

    // Probabilities, from `least` to `most`, of those that stay, and of all that are not listed.
    sampled(place, { temperature, topK, topP }) {
        const listed = this.likeliest(place);
        const power = 1 / temperature;
        const weights = listed.map((one) => Math.exp(one.logprob * power));
        let rest = this.restPower(listed, power);
        let stay = listed.length;
        if (topK && topK <= listed.length) {
            rest = [0, 0];
            while (stay > topK && listed[stay - 1].logprob < listed[topK - 1].logprob) stay--;
        }
        const sum = weights.slice(0, stay).reduce((all, one) => all + one, 0);
        const cuts = rest.map((others) => this.cut(weights, stay, topP * (sum + others)));
        const sure = cuts[0] === cuts[1];
        if (topP < 1 && cuts[1] <= stay && sure) {
            rest = [0, 0];
            stay = Math.max(1, cuts[1]);
        }
        const kept = weights.slice(0, stay);
        const total = kept.reduce((all, one) => all + one, 0);
        const share = (value) => rest.map((others) => value / (total + others)).reverse();
        return {
            tokens: kept.map((weight, i) => ({ name: listed[i].name, share: share(weight) })),
            rest: [rest[0] / (total + rest[0]), rest[1] / (total + rest[1])],
            sure,
        };
    }

    // How many stay of those before which the others hold less than a limit; one more than there
    // are where all do.
    cut(weights, stay, limit) {
        let taken = 0;
        for (let i = 0; i < stay; i++) {
            if (taken >= limit) return i;
            taken += weights[i];
        }
        return taken >= limit ? stay : stay + 1;
    }
}
