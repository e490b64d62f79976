// What every layer would say comes next, as a view: the numbers of `lens`.
import { LIFE, attnJson, readout, same, test, withPage, writePage, yes } from './harness.mjs';

const visible = (text) => text.replaceAll(' ', '␣').replace('\n', '↵');

// The cells of every layer, from the two tables of lens.
const lens = (...words) => {
    const { tables, tokens } = attnJson('lens', '-q', ...words, '--top', '3');
    const layers = [];
    for (const row of tables.lens) {
        const best = tables.best.filter(
            ({ layer, position }) => layer === row.layer && position === row.position,
        );
        (layers[row.layer] ??= { layer: row.layer, tokens: [] }).tokens.push({ ...row, best });
    }
    return { layers, tokens };
};
const percent = (share) => (share < 0.00005 ? '< 0.01 %' : `${(100 * share).toFixed(2)} %`);

await test('the likeliest token of every layer and place is that of lens', () =>
    withPage(writePage('-s', LIFE, '--lens'), async (page) => {
        await page.keyboard.press('9');
        const { layers, tokens } = lens(LIFE);
        const found = await page.$$eval('table.lens tbody tr', (rows) =>
            rows.map((row) => [
                row.querySelector('th').textContent,
                ...[...row.querySelectorAll('td button')].map((one) => [
                    one.querySelector('b').textContent,
                    one.querySelector('span').textContent,
                    one.className === 'came',
                ]),
            ]),
        );
        same(
            layers.map(({ layer, tokens: cells }) => [
                String(layer),
                ...cells.map(({ best }, at) => [
                    visible(best[0].text),
                    percent(Math.exp(best[0].logprob)),
                    best[0].text === tokens[at + 1]?.text,
                ]),
            ]),
            found,
        );
    }));

await test('a cell that has the focus says all that lens knows of it, by keys', () =>
    withPage(writePage('-s', LIFE, '--lens'), async (page) => {
        await page.click('#view-lens');
        const { layers, tokens } = lens(LIFE);
        await page.locator('table.lens button').first().focus();
        const check = async (layer, place) => {
            const { best, entropy, rank, target_logprob } = layers[layer].tokens[place];
            const listed = best.map((one) => `“${visible(one.text)}” ${one.logprob}`).join(', ');
            const came = tokens[place + 1];
            const after = came
                ? ` · what came, “${visible(came.text)}”: log p ${target_logprob}, rank ${rank}`
                : '';
            same(
                `“${visible(best[0].text)}” after “${visible(tokens[place].text)}”, layer ` +
                    `${layer} · log p ${listed}${after} · entropy ${entropy}`,
                await readout(page),
            );
        };
        await check(0, 0);
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowDown');
        await check(1, 1);
        for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowRight');
        await check(1, tokens.length - 1);
        same(1, await page.locator('table.lens button[tabindex="0"]').count());
    }));

await test('without --lens there is no such view, and its tab says so', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        yes(await page.isDisabled('#view-lens'), 'one layer is no view');
        yes((await page.getAttribute('#view-lens', 'title')).includes('--lens'), 'no way out');
    }));
