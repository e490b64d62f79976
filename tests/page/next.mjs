// What comes next: the page's numbers are those of lens, score and generate.
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    cards,
    percent,
    same,
    sameAsScore,
    scoresOf,
    test,
    withPage,
    writePage,
    yes,
} from './harness.mjs';

const slide = async (page, name, value) => page.fill(`#slider-${name}`, String(value));

await test('the ten likeliest tokens, and the rank of the one that came', () =>
    withPage(writePage('-s', LIFE), async (page) => {
        await page.keyboard.press('7');
        await sameAsScore(page, LIFE);
    }));

await test('temperature, top-k and top-p draw as the sampler does', async () => {
    // with the whole vocabulary in the page every number is exact
    await withPage(writePage('-s', LIFE, '--top', '1000'), async (page) => {
        await page.click('#view-next');
        const best = scoresOf(LIFE, 1000)[3].best;
        const check = async (temperature, topK, topP, what) => {
            await slide(page, 'temperature', temperature);
            await slide(page, 'topK', topK);
            await slide(page, 'topP', topP);
            const weights = best.map((one) => Math.exp(one.logprob / temperature));
            const k = topK ? weights.slice(0, topK) : weights;
            const total = k.reduce((a, b) => a + b, 0);
            let before = 0;
            const kept = k.filter((weight) => {
                const stays = before < topP * total;
                before += weight;
                return stays;
            });
            const sum = kept.reduce((a, b) => a + b, 0);
            const shown = (await cards(page))[2];
            same(
                kept.slice(0, 10).map((weight) => percent(weight / sum)),
                shown.shares,
                what,
            );
        };
        await check(1, 5, 1, 'top-k');
        await check(0.5, 20, 1, 'colder');
        await check(2, 20, 0.6, 'all three');
        await check(0.8, 40, 0.5, 'top-p');
    });
});

await test('what is not in the page is bounded, and the bounds hold', async () => {
    const all = scoresOf(LIFE, 1000)[1].best;
    await withPage(writePage('-s', LIFE, '--top', '12'), async (page) => {
        await page.click('#view-next');
        for (const temperature of [0.5, 2]) {
            await slide(page, 'temperature', temperature);
            const weights = all.map((one) => Math.exp(one.logprob / temperature));
            const real = (100 * weights[0]) / weights.reduce((a, b) => a + b, 0);
            const [text] = (await cards(page))[0].shares;
            const ends = text.replace(' %', '').split(' – ').map(Number);
            yes(ends[0] <= real + 0.3 && real <= ends.at(-1) + 0.01, `${real}: ${text}`);
        }
        yes((await page.locator('.caption').innerText()).includes('only be bounded'));
        await slide(page, 'temperature', 1);
        const rest = 1 - all.slice(0, 12).reduce((sum, one) => sum + Math.exp(one.logprob), 0);
        yes((await cards(page))[0].rest.endsWith(percent(rest)), (await cards(page))[0].rest);
    });
});

await test('where nothing comes next there is no such view', async () => {
    const model = join(process.env.ROOT, 'models/life');
    await withPage(writePage('-m', model, '-s', 'Life is'), async (page) => {
        yes(await page.isDisabled('#view-next'), 'life says nothing of next tokens');
    });
    await withPage(writePage('-s', 'Life is', '--top', '0'), async (page) => {
        yes(await page.isDisabled('#view-next'), 'none were asked for');
    });
});
