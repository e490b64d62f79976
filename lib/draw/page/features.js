// Features of dictionaries that are active at the selected token, as `attn-cli features` has them.

// "demo · layer 1 resid_post · L0 8.0 · unexplained 0.005"; a text of one token has no variance.
function dictionaryWords({ name, site, layer, l0, unexplained, unexplained_centered: centered }) {
    const number = (value, digits) => Number.isFinite(value) && value.toFixed(digits);
    const [size, share, other] = [number(l0, 1), number(unexplained, 3), number(centered, 3)];
    return [name, say('layer # #', layer, site), size && `L0 ${size}`,
        share && say('unexplained #', share), other && `center=on: ${other}`,
    ].filter(Boolean).join(' · ');
}

// Number, activation and promoted words of a feature; `most`: the largest activation of the token.
function featureRow([, , , , id, activation, words], most) {
    const names = (words || '').split(' ').map(shown).join(' ');
    return element('li', [
        ...[element('span', `${id}`, 'name'), meter(activation / most)],
        ...[element('span', brief(activation), 'value')],
        element('span', names, 'promotes', { title: names }),
    ], 'bar');
}

function drawFeatures(row) {
    const box = byId('features');
    const { features, labels } = current();
    box.hidden = !showsFeatures();
    if (box.hidden) return;
    setText('features-title', say('Features at #', quoted(shown(labels.sentence[row]))));
    byId('features-of').replaceChildren(...features.flatMap((one) => {
        const active = one.features.filter(([at, , , , id]) => at === row && id !== null);
        const most = Math.abs(active[0]?.[5]);
        const rows = active.map((item) => featureRow(item, most));
        return [
            element('p', dictionaryWords(one), 'quiet', { translate: 'no' }),
            rows.length ? element('ol', rows, '', { translate: 'no' })
                : element('p', 'No feature is active here.'),
        ];
    }));
}
