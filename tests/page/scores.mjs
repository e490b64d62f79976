// What heads do, on thumbnails: names and scores are those that `heads` prints, and so is the order.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIFE, attn, same, scratch, test, withPage, writePage, yes } from './harness.mjs';

const heads = (...words) => execFileSync(attn, ['heads', '-q', ...words]).toString();
const csv = heads('--format', 'csv', '--sort', 'induction');
const file = join(scratch, 'heads.csv');
writeFileSync(file, heads('--format', 'csv'));

// Lines of a CSV as objects.
function records(text) {
    const [names, ...lines] = text
        .trim()
        .split('\n')
        .map((line) => line.split(','));
    return lines.map((line) => Object.fromEntries(names.map((name, i) => [name, line[i]])));
}

// What the table for people says of each head after its numbers, by "layer.head".
const said = new Map(
    [...heads('--width', '200').matchAll(/^ +(\d+) +(\d+)(?: +[\d.]+)+(?: +(\D.*))?$/gm)].map(
        ([, layer, head, name]) => [`${layer}.${head}`, name || ''],
    ),
);

const thumbnails = (page) =>
    page.$$eval('.grid button', (all) =>
        all.map((one) => ({
            role: one.querySelector('.role')?.textContent || '',
            score: one.querySelector('.score')?.textContent || '',
            label: one.getAttribute('aria-label'),
        })),
    );

await test('thumbnails have the names and scores of heads', () =>
    withPage(writePage('-s', LIFE, '--scores', file), async (page) => {
        await page.click('#view-model');
        const found = await thumbnails(page);
        same(8, said.size, 'heads that are named');
        yes([...said.values()].includes('induction'), 'no head is clear');
        const all = records(heads('--format', 'csv'));
        same(all.length, found.length);
        all.forEach((record, i) => {
            same(said.get(`${record.layer}.${record.head}`), found[i].role, found[i].label);
            for (const [name, value] of Object.entries(record))
                if (!name.endsWith('_baseline') && !['layer', 'head'].includes(name))
                    yes(found[i].label.includes(`${name} ${value}`), `${found[i].label}: ${name}`);
        });
    }));

await test('they are sorted by any score, as heads --sort has them', () =>
    withPage(writePage('-s', LIFE, '--scores', file), async (page) => {
        await page.click('#view-model');
        await page.selectOption('#sort-by', 'induction');
        same(
            records(csv).map((one) => `${one.layer}.${one.head}  ${one.induction}`),
            (await thumbnails(page)).map((one) => one.score),
        );
        await page.selectOption('#sort-by', 'entropy');
        const sorted = records(csv).sort((a, b) => b.entropy - a.entropy);
        same(
            sorted.map((one) => one.entropy),
            (await thumbnails(page)).map((one) => one.score.split('  ')[1]),
        );
        const hash = await page.evaluate(() => location.hash);
        yes(hash.includes('sortBy=entropy'), hash);
        await page.locator('.grid button').first().click();
        const { layer, head } = sorted[0];
        yes(
            (await page.locator('#detail h2').innerText()).includes(
                `layer ${layer} · head ${head}`,
            ),
        );
        yes((await page.locator('#detail .scores').innerText()).includes(sorted[0].entropy));
        await page.selectOption('#sort-by', '');
        same(8, await page.locator('.grid button').count());
    }));

await test('a head that is shown says what it is', () =>
    withPage(writePage('-s', LIFE, '--scores', file, '--show', 'weights,context'), async (page) => {
        await page.click('.head[data-head="1"]');
        const words = await page.locator('#stage .scores').innerText();
        const record = records(heads('--format', 'csv'))[1];
        yes(
            words.startsWith(`${said.get('0.1')} · previous-token ${record['previous-token']}`),
            words,
        );
        yes((await page.locator('.head[data-head="1"]').innerText()).includes(said.get('0.1')));
        await page.click('.head[data-head="mean"]');
        same(0, await page.locator('#stage .scores').count());
    }));

await test('scores of several models are told apart', () => {
    const models = ['-m', 'tiny', '-m', 'life-causal'];
    const both = join(scratch, 'both.csv');
    writeFileSync(both, heads(...models, '--format', 'csv'));
    return withPage(writePage(...models, '-s', 'Life is', '--scores', both), async (page) => {
        const lines = records(heads(...models, '--format', 'csv'));
        for (const [at, model] of ['tiny', 'life-causal'].entries()) {
            await page.selectOption('#sentence', String(at));
            const line = lines.find((one) => one.model === model);
            const words = await page.locator('#stage .scores').innerText();
            yes(words.includes(`entropy ${line.entropy} `), words);
        }
    });
});
