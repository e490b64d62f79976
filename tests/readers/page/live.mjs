// Live pages in headless Chromium: a page runs each typed text and shows the program's numbers.
//
// page.mjs imports it.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import {
    LIFE,
    TEXT_OF_MODEL,
    attn,
    attnJson,
    bars,
    causal,
    counts,
    drawn,
    fillsOf,
    go,
    json,
    open,
    pass,
    percent,
    plain,
    pointsWithout,
    quiet,
    readTable,
    roundShare,
    same,
    sameFinding,
    samePoints,
    scratch,
    showHead,
    tell,
    test,
    withPage,
    yes,
} from './harness.mjs';
import { REPEAT } from './tasks.mjs';

const MOST_BYTES = 3.5e6;
const path = join(scratch, 'live.html');

function write() {
    try {
        execFileSync(attn, ['page', '-q', '--live', '-s', REPEAT, '-o', path], { stdio: 'pipe' });
        return true;
    } catch (error) {
        if (error.status !== 4) throw error; // 4: the page could not be written
        console.log('skipped: live pages: their engine is not compiled (make wasm compiles it)');
        counts.skipped += 1;
        return false;
    }
}

const noted = (page, name, value) =>
    page
        .locator(`#live-note[data-${name}=${JSON.stringify(String(value))}]`)
        .waitFor({ state: 'attached' });
const settled = (page, text) => noted(page, 'text', text);

async function type(page, text) {
    await page.fill('#text', text);
    await settled(page, text);
}

// Do something that makes the page run the text again, and wait for the run.
async function anew(page, act) {
    const runs = Number(await page.getAttribute('#live-note', 'data-runs'));
    await act();
    await noted(page, 'runs', runs + 1);
}

async function weights(page, layer = 0, head = 0) {
    await showHead(page, `${layer}.${head}`);
    return readTable(page);
}

const started = (page) => settled(page, REPEAT);
const WIDE = { viewport: { width: 1440, height: 900 } };

const WORDS = 'the dog sat on a mat and old man ran to little house life is short'.split(' ');
const SENTENCES = Array.from({ length: 50 }, (_, at) =>
    Array.from({ length: 2 + (at % 9) }, (__, i) => WORDS[(at * 7 + i * i * 3 + i) % 16]).join(' '),
);

if (write()) {
    await test(`a live page has at most ${MOST_BYTES / 1e6} MB and no address`, () => {
        const { size } = statSync(path);
        yes(size <= MOST_BYTES, `expected at most ${MOST_BYTES} bytes, found ${size}`);
        const page = readFileSync(path, 'utf8').replaceAll('http://www.w3.org/2000/svg', '');
        yes(!/https?:\/\//.test(page), 'it names an address');
    });

    await test('the note on the size of a large live page is right within 1 MiB', () => {
        const model = join(scratch, 'large');
        const large = join(scratch, 'large.html');
        const sizes = 'n_embd=384,n_head=4';
        const init = ['init', '-q', '--shape', 'tiny', '--set', sizes, '-s', LIFE, '-o', model];
        execFileSync(attn, init);
        const { stderr } = spawnSync(attn, ['page', '--live', '-m', model, LIFE, '-o', large]);
        const found = /note: --live: the page takes about (\S+) MiB, as it/.exec(stderr);
        const size = statSync(large).size / 2 ** 20;
        yes(size > 10 && Math.abs(found?.[1] - size) < 1, `${size} MiB: ${stderr}`);
        same('', spawnSync(attn, ['page', '--live', LIFE, '-o', large]).stderr.toString());
    });

    await test('options that a live page cannot apply to typed text are refused', () => {
        const refused = [
            ['found ids', '--ids', '1,2'],
            ['expected no --ablate', '-s', LIFE, '--ablate', '0.1'],
            ['expected no --pair', '-m', 'cloze', LIFE, '--pair', 'Life'],
            ['expected no --source', '-m', 'life-cross', '-s', 'Life', '--source', 'dessert'],
        ];
        for (const [reason, ...args] of refused) {
            const other = join(scratch, 'refused.html');
            const { status, stderr } = spawnSync(attn, ['page', '--live', ...args, '-o', other]);
            same(2, status, args.join(' '));
            yes(stderr.includes('--live: ') && stderr.includes(reason), stderr.toString());
        }
    });

    await test('the live page of a translation opens on a given one, and translates what is typed', () => {
        const file = join(scratch, 'target.html');
        const source = 'the cat sat on the mat';
        const command = ['page', '-q', '--live', '-m', 'translate-zh', '--source', source];
        execFileSync(attn, [...command, '那只 猫', '-o', file]);
        const { status, stderr } = spawnSync(attn, [...command, '--ids', '24,34', '-o', file]);
        same(2, status);
        yes(stderr.includes("--live: expected a text that begins with '<s>'"), stderr.toString());
        return withPage(
            file,
            async (page) => {
                const words = () => page.locator('#chips .chip').allInnerTexts();
                await settled(page, source);
                same(['<s>', '那只', '猫'], await words());
                const { tensors } = json('-m', 'translate-zh', '--source', source, '那只 猫');
                same(
                    tensors['h.0.cross_weights'][0].map((row) => row.map(String)),
                    await weights(page),
                );
                await type(page, 'the dog sat');
                await quiet(page); // predictions of steps follow, if it has any
                const asked = ['generate', '-q', '-m', 'translate-zh', '--source', 'the dog sat'];
                const { tokens } = attnJson(...asked, '--beams', '1').tables;
                const target = tokens.map((one) => one.text).filter((one) => one !== '</s>');
                same(['<s>', ...target], await words());
                yes(!(await page.isVisible('#layers')), 'a heading of steps, which it lacks');
            },
            WIDE,
        );
    });

    await test('fifty typed sentences have the numbers of `run`', () =>
        withPage(path, async (page) => {
            await started(page);
            for (const [at, text] of SENTENCES.entries()) {
                const [one] = [json('-s', text)].flat();
                const [layer, head] = [at % 2, at % 4];
                await type(page, text);
                same(
                    causal(one.tensors[`h.${layer}.weights`][head]),
                    await weights(page, layer, head),
                    text,
                );
            }
        }));

    await test('a score of a typed text is split, if all heads are on', () =>
        withPage(path, async (page) => {
            await started(page);
            const text = 'the dog sat and the dog';
            await type(page, text);
            await go(page, `text=${encodeURIComponent(text)}&head=1.3&cell=5,3&why=1`);
            const fold = page.locator('#why summary').first();
            await fold.click();
            await page.locator('#why .pairs .value').first().waitFor();
            const asked = ['--head', '1.3', '--query', '5', '--key', '3:mean', '--format', 'json'];
            const found = JSON.parse(execFileSync(attn, ['attribute', '-q', text, ...asked]));
            same(
                found.tables.score_pairs.slice(0, 3).map(({ value }) => Math.abs(value).toFixed(2)),
                (await page.locator('#why .pairs .value').allInnerTexts()).map((one) => one.slice(1)),
            );
            await anew(page, () => page.keyboard.press('x'));
            const words = await page.innerText('#why .origin');
            yes(words.includes('Scores of a changed pass are not split'), words);
        }));

    await test('motion asks for the heads of the layer that is shown, then of its neighbours', () =>
        withPage(path, async (page) => {
            await page.addInitScript(() => {
                window.asked = [];
                const open = WebAssembly.instantiate;
                WebAssembly.instantiate = async (...all) => {
                    const { instance } = await open(...all);
                    const exports = { ...instance.exports };
                    exports.live_run = (...words) => {
                        const memory = new Uint8Array(exports.memory.buffer);
                        const textAt = (at) =>
                            new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
                        window.asked.push([textAt(words[3]), textAt(words[4])]);
                        return instance.exports.live_run(...words);
                    };
                    return { instance: { exports } };
                };
            });
            await page.reload();
            await started(page);
            const asked = () =>
                page.evaluate(() => window.asked.filter(([show]) => !show.includes('weights')));
            await page.keyboard.press('v');
            await quiet(page); // a neighbour follows
            const all = await asked();
            same(['', '0', '1'], all.map(([, layer]) => layer));
            yes(!/(^|,)q(,|$)/.test(all[0][0]), 'queries of all layers');
            await page.keyboard.press('End');
            same(3, (await asked()).length, 'asked again');
        }));

    await test('words of a typed text have the points of --knockout, at every token', () =>
        withPage(path, async (page) => {
            await started(page);
            await type(page, 'the dog sat');
            await page.click('#without summary');
            const points = () => page.locator('#without .word i').allInnerTexts();
            for (const row of [2, 1]) {
                await page.click(`#chips .chip >> nth=${row}`);
                await quiet(page); // every word has been tried
                const expected = pointsWithout(row, [...Array(row).keys()], 'the dog sat');
                samePoints(expected, (await points()).slice(0, row));
            }
            const before = await points();
            await anew(page, () => page.keyboard.press('x'));
            await quiet(page); // every word has been tried
            yes(before.join() !== (await points()).join(), 'a head off changes nothing');
        }));

    await test('a key runs the engine once, before the next frame, and draws the matrix once', () =>
        withPage(
            path,
            async (page) => {
                await page.locator('#text:enabled').waitFor();
                await quiet(page);
                for (const letter of ' and then it is gone') {
                    const text = (await page.inputValue('#text')) + letter;
                    const found = await page.evaluate((typed) => {
                        const field = document.getElementById('text');
                        return window.workOf(() => {
                            field.value = typed;
                            field.dispatchEvent(new Event('input', { bubbles: true }));
                        });
                    }, text);
                    same(text, await page.getAttribute('#live-note', 'data-text'));
                    // eight heads, the large matrix and the colours of the legend
                    const { runs, putImageData, drawImage } = found;
                    same([1, 8 + 2, 1], [runs, putImageData, drawImage], `work for “${text}”`);
                    yes(found.decoded <= 16 && found.made <= 150, JSON.stringify(found));
                    await pass(page, 120); // as a person types
                }
            },
            { ...WIDE, still: true, counted: true },
        ));

    await test('the time of a key is reported', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await quiet(page);
                const took = await page.evaluate((letters) => {
                    const field = document.getElementById('text');
                    return window.clock.ratio(
                        [...letters].map((letter) => async () => {
                            field.value += letter;
                            field.dispatchEvent(new Event('input', { bubbles: true }));
                            await new Promise(requestAnimationFrame);
                        }),
                    );
                }, ' and then it is gone');
                tell('a key, to the frame that shows it', took);
            },
            WIDE,
        ));

    await test('a slow engine follows with the steps of the selected token, as a fast one', () =>
        withPage(
            path,
            async (page) => {
                const text = 'The cat sat on the mat';
                const steps = () => page.locator('#layer-rows tr').allInnerTexts();
                const stepsAfter = async (word) => {
                    await page.locator('#chips button', { hasText: word }).first().click();
                    await quiet(page);
                    return (await steps()).join(' ');
                };
                const write = async (words) => {
                    await page.fill('#text', words);
                    await pass(page, 100);
                    await settled(page, words);
                };
                await page.locator('#text:enabled').waitFor();
                await write(text);
                const expected = [await stepsAfter('cat'), await stepsAfter('on')];
                yes(expected[0] !== expected[1], 'all tokens have the same steps');
                await page.addInitScript(() => {
                    const own = WebAssembly.instantiate;
                    WebAssembly.instantiate = async (...all) => {
                        const { exports } = (await own.apply(WebAssembly, all)).instance;
                        const run = (...numbers) => {
                            window.clock.spend(250);
                            return exports.live_run(...numbers);
                        };
                        return { instance: { exports: { ...exports, live_run: run } } };
                    };
                });
                await page.reload();
                await page.locator('#text:enabled').waitFor();
                await write(`${text} and`); // now the page knows that it is slow
                await write(text);
                same(0, (await steps()).length, 'steps');
                same(expected, [await stepsAfter('cat'), await stepsAfter('on')]);
            },
            { ...WIDE, still: true },
        ));

    await test('tasks 4 and 5: find the head that a prediction needs, and its effect', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                const before = await weights(page, 1, 1);
                same('door', (await bars(page))[0][0].replace('␣', ''));
                await showHead(page, '0.1');
                await anew(page, () => page.keyboard.press('x'));
                const text = await page.innerText('#effect');
                yes(/^Before → now the prediction changes: “door” 86 % → “red” \d+ %/.test(text), text);
                same('without L0H1', await page.innerText('#heads-on [aria-pressed="true"]'));
                yes((await page.innerText('#headline')).includes('“door” 86 %'), 'another headline');
                const [off] = [json('-s', REPEAT, '--ablate', '0.1')].flat();
                await showHead(page, '1.1');
                const found = (await readTable(page)).map((row) => row.map((one) => Number(one)));
                off.tensors['h.1.weights'][1].forEach((row, at) => {
                    const was = before[at].slice(0, at + 1).map(Number);
                    was.forEach((value, key) => {
                        const by = row[key] - value;
                        yes(Math.abs(found[at][key] - by) < 1e-6, `${at} ${key}: not ${by}`);
                    });
                });
                const door = page.locator('#bars li', { hasText: 'door' });
                const share = (text) => Number(text.replace(/[^0-9.]/g, ''));
                const change = await door.locator('.change').innerText();
                const now = share(await door.locator('.value').innerText());
                yes(change.startsWith('−') && change.endsWith(' pt'), change);
                yes(Math.abs(share(change) + now - 85.6) < 0.2, `${change} ${now}`);
                const ghost = await door.locator('.ghost').evaluate((one) => one.style.width);
                yes(Math.abs(parseFloat(ghost) - 85.6) < 0.1, ghost);
                const disc = await page.innerText('.head:has([data-head="1.1"]) .disc');
                let distance = 0;
                const pinned = json('-s', REPEAT).tensors['h.1.weights'][1];
                off.tensors['h.1.weights'][1].forEach((row, r) =>
                    row.forEach((value, c) => (distance += Math.abs(value - pinned[r][c]) / 2)),
                );
                same((distance / pinned.length).toFixed(2).replace(/^0/, ''), disc.trim());
                same(0, await page.locator('.head:has([data-head="0.1"]) .disc').count());
                same('Pin this run', (await page.innerText('#pin')).trim());
                await anew(page, () => page.click('#reset'));
                same(before, await weights(page, 1, 1));
                same('Pin as baseline', (await page.innerText('#pin')).trim());
                same('', await page.innerText('#pinned'));
                same('x switches one off', await page.innerText('#grid-hint'));
                same(0, await page.locator('.disc').count());
                await page.click('#pin');
                same('x switches one off', await page.innerText('#grid-hint')); // no disc is shown
                await anew(page, () => page.click('.head:has([data-head="0.1"]) .power'));
                same('disc: mean change of its weights', await page.innerText('#grid-hint'));
                await anew(page, () => page.click('#reset'));
                same('Unpin', (await page.innerText('#pin')).trim()); // pinned by hand
                const changes = await page.locator('#bars .change').allInnerTexts();
                same(['0.0 pt'], [...new Set(changes)]);
                const colour = (one) => getComputedStyle(one).color;
                const plain = await page.locator('#bars .name').first().evaluate(colour);
                same(plain, await page.locator('#bars .change').first().evaluate(colour));
                await page.click('#pin');
                await page.keyboard.press('/');
                await page.keyboard.press('Escape');
                yes(await page.evaluate(() => document.activeElement.matches('.over')), 'in a field');
            },
            WIDE,
        ));

    await test('switching a head off shows its effect, with the new prediction first', () =>
        withPage(
            path,
            async (page) => {
                const text = 'When Mary and John went to the store, John gave a drink to';
                await started(page);
                await type(page, text);
                const [[was]] = await bars(page);
                await showHead(page, '1.3');
                await anew(page, () => page.keyboard.press('x'));
                const after = ['-s', `${text} x`, '--ablate', '1.3', '--top', '1'];
                const { best } = attnJson('score', '-q', ...after).tables;
                const is = best.at(-2).text.replaceAll(' ', '␣').replaceAll('\n', '↵');
                const found = await bars(page);
                same(is, found[0][0]);
                yes(found.some(([name]) => name === was && was !== is), `${was} is not compared`);
                const shares = found.map(([, share]) => Number(share.replace(/[^0-9.]/g, '')));
                same([...shares].sort((a, b) => b - a), shares);
                const effect = await page.innerText('#effect');
                yes(/the prediction changes: “.*” .* → “/.test(effect), effect);
                yes(effect.includes(`“${plain(was)}”`) && effect.includes(`“${plain(is)}”`), effect);
                const title = await page.innerText('#head-title');
                same('L1H3 off: only its output is removed', title);
                await page.keyboard.press('p');
                same('L1H3 off', await page.innerText('#head-title'));
                await page.keyboard.press('p');
                await anew(page, () => page.click('#reset'));
                const all = await page.innerText('#effect');
                yes(!all.includes('prediction'), all);
            },
            WIDE,
        ));

    await test('the skip link and x keep state and focus, and x switches the focused head', () =>
        withPage(
            path,
            async (page) => {
                const text = 'the dog sat and the dog';
                const cell = () => page.innerText('#place');
                const focus = (selector) =>
                    page.evaluate((one) => document.activeElement.matches(one), selector);
                await started(page);
                await type(page, text);
                await showHead(page, '1.3');
                await anew(page, () => page.click('.head:has([data-head="0.1"]) .power'));
                yes(await focus('.thumb[data-head="0.1"]'), 'the power button loses the focus');
                await page.keyboard.press('Tab'); // from now on by keys
                await page.focus('.skip');
                await page.keyboard.press('Enter');
                yes(await focus('.over'), 'the skip link does not lead to the matrix');
                same(text, await page.inputValue('#text'));
                same('without L0H1', await page.innerText('#heads-on [aria-pressed="true"]'));
                yes((await page.innerText('#effect')).startsWith('Before → now'), 'nothing is compared');
                for (const key of ['x', 's', '[', 'ArrowUp']) {
                    const before = await cell();
                    await (key === 'x' ? anew(page, () => page.keyboard.press('x')) : page.keyboard.press(key));
                    yes(await focus('#stage .over'), `${key} loses the focus`);
                    if (key === 'ArrowUp') yes(before !== (await cell()), 'no other cell');
                }
                await page.click('#reset');
                await type(page, REPEAT);
                await showHead(page, '1.3');
                await page.focus('.thumb[data-head="1.1"]');
                await anew(page, () => page.keyboard.press('x'));
                same('without L1H1', await page.innerText('#heads-on [aria-pressed="true"]'));
                yes(await focus('.thumb[data-head="1.1"]'), 'x loses the focus');
            },
            WIDE,
        ));

    await test('a phone, which has no keyboard, switches heads off by their buttons', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                same('', await page.innerText('#grid-hint'));
                await anew(page, () => page.tap('.head:has([data-head="0.1"]) .power'));
                yes((await page.innerText('#effect')).startsWith('Before → now'), 'it is on');
            },
            { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
        ));

    await test('a phone shows below the text, and announces, that an empty text cannot run', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await page.tap('#edit');
                await type(page, '');
                yes(await page.isVisible('#text-error'), 'the message is hidden');
                const words = { hasText: 'Type some text to begin.' };
                await page.locator('#announce', words).waitFor({ state: 'attached' });
            },
            { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
        ));

    await test('the temperature is --attention-temperature, which the command names', () =>
        withPage(path, async (page) => {
            await started(page);
            await anew(page, () => page.fill('#t', '2'));
            const [was, one] = [[], ['--attention-temperature', '2']].map((words) =>
                json('-s', REPEAT, ...words).tensors['h.0.weights'][3]);
            (await weights(page, 0, 3)).forEach((row, at) =>
                row.slice(0, at + 1).forEach((cell, key) => {
                    const by = one[at][key] - was[at][key];
                    yes(Math.abs(Number(cell) - by) < 1e-6, `${at} ${key}: ${cell}, ${by}`);
                }),
            );
            await page.keyboard.press('e');
            const line = await page.locator('#export code').last().innerText();
            yes(line.includes('--attention-temperature 2'), line);
        }));

    await test('each switch has the numbers of its option, is in the address, and Reset restores', () =>
        withPage(
            path,
            async (page) => {
                const text = 'The keys to the cabinet';
                const tableOf = (...options) => json('-s', text, ...options).tensors['h.1.weights'][3];
                const likely = (...options) => {
                    const logits = json('-s', text, '--show', 'logits', ...options).tensors.logits.at(-1);
                    const sum = logits.reduce((all, one) => all + Math.exp(one), 0);
                    return percent(Math.exp(Math.max(...logits)) / sum);
                };
                await started(page);
                await type(page, text);
                const [before, usual] = [tableOf(), await bars(page)];
                const turn = async (name) => {
                    if (name === 't') return page.fill('#t', '4');
                    return page.click(name === '1-3' ? '#heads-1-3' : `#switch-${name.replace(':', '-')}`);
                };
                for (const [name, ...options] of [
                    ['4:1', '--knockout=4:1'],
                    ['mask', '--without', 'mask'],
                    ['scale', '--scale', 'none'],
                    ['positions', '--without', 'positions'],
                    ['t', '--attention-temperature', '4'],
                    ['1-3', '--ablate', '1.3'],
                ]) {
                    await anew(page, () => turn(name));
                    same(likely(...options), (await bars(page))[0][1], name);
                    const now = tableOf(...options);
                    const found = name === '1-3' ? [] : await readTable(page); // the changes
                    found.forEach((row, query) =>
                        row.forEach((cell, key) => {
                            const by = (now[query][key] || 0) - (before[query][key] || 0);
                            yes(Math.abs(Number(cell) - by) < 1e-6, `${name} ${query} ${key}: ${cell}, ${by}`);
                        }),
                    );
                    yes((await page.innerText('#effect')).startsWith('Before → now'), `effect of ${name}`);
                    await page.keyboard.press('e');
                    const lines = await page.locator('#export code').allInnerTexts();
                    const words = options.join(' ').replace('=', ' ');
                    yes(lines.at(-1).includes(words), `${lines} have no ${words}`);
                    await page.keyboard.press('Escape');
                    const hash = await page.evaluate(() => location.hash);
                    const [headline, effect] = [await page.innerText('#headline'), await page.innerText('#effect')];
                    await page.reload();
                    await settled(page, text);
                    same(hash, await page.evaluate(() => location.hash), name);
                    same([headline, effect], [await page.innerText('#headline'), await page.innerText('#effect')]);
                    await anew(page, () => page.click('#reset'));
                    same(usual, await bars(page), `Reset after ${name}`);
                    yes((await page.innerText('#effect')).startsWith('Switch something off'), 'Reset');
                    yes(!/off=|t=4/.test(await page.evaluate(() => location.hash)), 'the address');
                }
                await anew(page, () => page.locator('#arcs .hit').first().dispatchEvent('click'));
                same('false', await page.getAttribute('#switch-4-1', 'aria-checked'));
                await anew(page, () => page.click('#heads-1-3')); // the arrow stays off
                same('false', await page.getAttribute('#switch-4-1', 'aria-checked'), 'an arrow');
                same(likely('--knockout=4:1', '--ablate', '1.3'), (await bars(page))[0][1]);
            },
            WIDE,
        ));

    await test('of each bundled model, the engine tells the finding of the command line', async () => {
        for (const [model, [text, ...source]] of Object.entries(TEXT_OF_MODEL)) {
            if (model === 'life-cross') continue; // not for live pages: it does not write its text
            const file = join(scratch, 'finding.html');
            const words = ['-m', model, '-s', text, ...source];
            execFileSync(attn, ['page', '-q', '--live', ...words, '-o', file]);
            await withPage(file, async (page) => {
                await settled(page, source[1] ?? text);
                yes(!(await page.innerText('#text-error')), model);
                await sameFinding(page, ...words.slice(1));
            }, WIDE);
        }
    });

    await test('an arrow of a translator is cut as by --edit', () => {
        const file = join(scratch, 'cut.html');
        const source = 'the small black cat sees a white cow';
        execFileSync(attn, ['page', '-q', '--live', '-m', 'translate', '--source', source,
            '<s> le petit chat noir voit', '-o', file]);
        return withPage(file, async (page) => {
            await settled(page, source);
            await anew(page, () => page.click('.switch >> nth=0'));
            same('L0H0 before → now', await page.innerText('#head-title'));
            yes(/writes?|prediction/.test(await page.innerText('#effect')), 'no effect');
            await page.keyboard.press('e');
            const line = (await page.locator('#export code').allInnerTexts()).at(-1);
            yes(line.includes('cross_masked[query='), line);
            await page.keyboard.press('Escape');
            yes(!(await page.locator('#switch-mask').count()), 'a mask that generating needs');
        }, WIDE);
    });

    // The prediction at a row, by the program.
    function predictionOf(row, ...words) {
        const logits = json(...words, '--show', 'logits').tensors.logits.at(row);
        const sum = logits.reduce((all, one) => all + Math.exp(one), 0);
        return percent(Math.exp(Math.max(...logits)) / sum);
    }

    await test('heads of a state, of a decoder, of a source and of cross-attention are switched as by the program', async () => {
        const french = '<s> le petit chat noir voit';
        for (const [tensor, name, option, edit, model, ...words] of [
            ['mix_map', '0.0', '--edit', 'h.0.mix_context[head=0] = 0', 'recall', 'the red cat and a blue bird and the red'],
            ['mix_map', '0.1', '--edit', 'h.0.mix_context[head=1] = 0', 'recall', 'the red cat and a blue bird and the red'],
            ['cross_weights', '0.0', '--edit', 'h.0.cross_context[head=0] = 0', 'translate', '--source', 'the small black cat sees a white cow', french],
            ['weights', '0.0', '--ablate', '0.0', 'translate', '--source', 'the small black cat sees a white cow', french],
            ['enc.weights', '0.0', '--edit', 'h.0.enc.context[head=0] = 0', 'translate', '--source', 'the small black cat sees a white cow', french],
        ]) {
            const file = join(scratch, `heads-${tensor}.html`);
            execFileSync(attn, ['page', '-q', '--live', '-m', model, ...words, '-o', file]);
            await withPage(
                file,
                async (page) => {
                    await settled(page, words.find((one) => /^the/.test(one)));
                    if (await page.isVisible('#tensor')) await page.selectOption('#tensor', tensor);
                    await page.click(`.thumb[data-head="${name}"]`);
                    const bar = async () => {
                        if (tensor === 'enc.weights') await page.selectOption('#tensor', 'weights');
                        return (await bars(page))[0][1];
                    };
                    const row = () => page.evaluate(() =>
                        Number(document.querySelector('#place').textContent.match(/\d+/)[0]));
                    await anew(page, () => page.click('#heads-on button >> nth=1'));
                    const found = await bar();
                    const at = await row();
                    const usual = predictionOf(at, '-m', model, ...words);
                    const expected = predictionOf(at, '-m', model, ...words, option, edit);
                    same(expected, found, `${tensor} ${name}`);
                    yes(expected !== usual, `${tensor} ${name} changes nothing at ${at}`);
                    yes((await page.innerText('#effect')).startsWith('Before → now'), 'no effect');
                    await page.keyboard.press('e');
                    const line = (await page.locator('#export code').allInnerTexts()).at(-1);
                    yes(line.includes(option) && line.includes(edit), line);
                    await page.keyboard.press('Escape');
                    await anew(page, () => page.click('#reset'));
                    same(usual, (await bars(page))[0][1], `Reset of ${tensor}`);
                    await page.click('.thumb');
                    await anew(page, () => page.keyboard.press('x'));
                    yes(/off=/.test(page.url()), 'x switches nothing');
                },
                WIDE,
            );
        }
    });

    await test('Write says what it waits for, and turns it on', () =>
        withPage(
            path,
            async (page) => {
                await settled(page, REPEAT);
                for (const name of ['mask', 'arrow', 'both']) {
                    if (name !== 'arrow') await anew(page, () => page.click('#switch-mask'));
                    if (name !== 'mask') await anew(page, () => page.click('.switch >> nth=0'));
                    await anew(page, () => page.fill('#t', '2'));
                    await page.click('#screen-write');
                    yes(await page.isVisible('#write-waits'), `${name}: no reason`);
                    yes(!(await page.isVisible('#write-bars')), `${name}: next tokens`);
                    for (const key of ['1', 'Enter', ' ', 'Backspace']) await page.keyboard.press(key);
                    await anew(page, () => page.click('#write-restore'));
                    yes(!(await page.isVisible('#write-waits')), `${name}: it still waits`);
                    const [[, share]] = await page.$$eval('#write-bars li', (all) =>
                        all.map((one) => [one.querySelector('b').textContent, one.querySelector('.next').lastChild.textContent]));
                    same(predictionOf(-1, '-s', REPEAT, '--attention-temperature', '2'), share, name);
                    await page.click('#screen-matrix');
                    await anew(page, () => page.click('#reset'));
                }
            },
            WIDE,
        ));

    await test('the line of changes names the arrow of the finding', () => {
        const file = join(scratch, 'it.html');
        const text = 'The chicken did not cross the road because it was tired';
        execFileSync(attn, ['page', '-q', '--live', '-m', 'roles', text, '-o', file]);
        return withPage(file, async (page) => {
            await settled(page, text);
            const headline = await page.innerText('#headline');
            const shareOf = (...options) =>
                roundShare(json('-m', 'roles', text, ...options).tensors['h.1.weights'][0][9][2]);
            for (const [name, ...options] of [['scale', '--scale', 'none'], ['positions', '--without', 'positions']]) {
                await anew(page, () => page.click(`#switch-${name}`));
                const said = await page.innerText('#effect');
                const words = `“it” → “chicken” ${shareOf()} → ${shareOf(...options)} in L1H0`;
                yes(said.includes(words), `${said}, expected ${words}`);
                same(`Usually: ${headline}`, await page.innerText('#headline'));
                await anew(page, () => page.click('#reset'));
                same(headline, await page.innerText('#headline'));
            }
        }, WIDE);
    });

    await test('the arrow of the selected word is a switch, and a translation tells that word', () => {
        const file = join(scratch, 'chat.html');
        const [source, target] = ['the small black cat sleeps', '<s> le petit chat noir dort'];
        execFileSync(attn, ['page', '-q', '--live', '-m', 'translate', '--source', source, target, '-o', file]);
        return withPage(file, async (page) => {
            await settled(page, source);
            const first = () => page.innerText('.switch >> nth=0');
            yes(/noir\s+→\s+black/.test(await first()), await first());
            await page.click('#chips .chip >> nth=3');
            yes(/chat\s+→\s+cat/.test(await first()), await first());
            await anew(page, () => page.click('.switch >> nth=0'));
            const [was, is] = [[], ['--edit', 'cross_masked[query=2,key=3] = -1e30']].map((options) =>
                Number(predictionOf(2, '-m', 'translate', '--source', source, target, ...options).split(' ')[0]));
            const said = await page.innerText('#effect');
            const [from, to] = [...said.matchAll(/([\d.]+) %/g)].map(([, number]) => Number(number));
            yes(said.includes('“chat”') && said.includes('“noir”'), said);
            yes(Math.abs(from - was) < 0.51 && Math.abs(to - is) < 0.51, `${said}: ${was}, ${is}`);
        }, WIDE);
    });

    await test('task 9: a link restores text, heads off, temperature, pin and view', async () => {
        const text = 'the dog sat and the dog';
        let hash = '';
        let before = [];
        const state = async (page) => [
            await page.inputValue('#text'),
            await page.innerText('#headline'),
            await page.innerText('#effect'),
            await page.innerText('#pinned'),
            await page.innerText('#t-value'),
            await page.innerText('#head-title'),
            await page.innerText('#value'),
            await bars(page),
        ];
        await withPage(
            path,
            async (page) => {
                await started(page);
                await type(page, text);
                await page.locator('h1').click();
                await page.keyboard.press('b');
                await showHead(page, '1.2');
                await anew(page, () => page.keyboard.press('x'));
                await showHead(page, '0.3');
                await anew(page, () => page.keyboard.press('x'));
                await anew(page, () => page.fill('#t', '1.5'));
                await showHead(page, '1.0');
                before = await state(page);
                hash = await page.evaluate(() => location.hash.slice(1));
            },
            WIDE,
        );
        yes(/text=.*off=.*t=1.5.*pin=/.test(hash), hash);
        await withPage(
            path,
            async (page) => {
                await started(page);
                await go(page, hash);
                await settled(page, text);
                same(before, await state(page));
                await anew(page, () => go(page, ''));
                yes((await page.innerText('#effect')).startsWith('Switch something off'), 'heads are off');
            },
            WIDE,
        );
        const opened = async (page) => {
            await settled(page, text);
            same(before, await state(page));
            same(hash, await page.evaluate(() => location.hash.slice(1)));
        };
        await withPage(path, opened, { ...WIDE, hash: `#${hash}` });
    });

    await test('a link to a longer text keeps its cell, and a typed text survives a reload', () =>
        withPage(
            path,
            async (page) => {
                const text = `${REPEAT} and then the old door`;
                await settled(page, text);
                const cell = await page.innerText('#place');
                yes(cell.startsWith('query 19, key 3'), cell);
                await type(page, 'the dog sat and the dog');
                await page.waitForURL(/text=the\+dog/);
                await showHead(page, '1.2');
                await anew(page, () => page.keyboard.press('x'));
                await page.waitForURL(/off=1.2/);
                const shows = () => page.locator('#chips, #headline, #effect').allInnerTexts();
                const before = await shows();
                await page.reload();
                await settled(page, 'the dog sat and the dog');
                same('the dog sat and the dog', await page.inputValue('#text'));
                same(before, await shows());
            },
            {
                ...WIDE,
                hash: `#${new URLSearchParams({ text: `${REPEAT} and then the old door` })}&cell=19,3`,
            },
        ));

    await test('a live page of a masked model fills the masks of a typed text', () => {
        const cloze = join(scratch, 'cloze.html');
        const text = 'The [MASK] sat on the mat';
        const command = ['page', '-q', '-m', 'cloze', '--live', 'The cat sat', '-o', cloze];
        execFileSync(attn, command);
        return withPage(
            cloze,
            async (page) => {
                const shows = async (...options) => {
                    same(fillsOf(text, 2, ...options), (await bars(page)).slice(0, 10));
                    same('[MASK]', await page.innerText('#chips .chip[aria-pressed="true"]'));
                };
                await settled(page, 'The cat sat');
                yes(!(await page.isVisible('#right')), 'a prediction without a mask');
                const hint = 'Write [MASK] in place of a word, and the model predicts the word.';
                yes((await page.innerText('#effect')).includes(hint), 'no hint of masks');
                await type(page, text);
                yes(!(await page.innerText('#effect')).includes(hint), 'a hint of masks');
                await shows();
                await showHead(page, '0.1');
                const { tensors } = json('-m', 'cloze', text);
                same(
                    tensors['h.0.weights'][1].map((row) => row.map(String)),
                    await readTable(page),
                );
                const [[was]] = await bars(page);
                await anew(page, () => page.keyboard.press('x'));
                const [[is]] = fillsOf(text, 2, '--ablate', '0.1');
                const effect = await page.innerText('#effect');
                yes(effect.includes(`“${was}”`) && effect.includes(`“${is}”`), effect);
                await page.click('#pin');
                await page.click('#pin');
                await shows('--ablate', '0.1');
                await type(page, 'The cat sat');
                yes(!(await page.isVisible('#right')), 'a prediction without a mask');
            },
            WIDE,
        );
    });

    await test('Motion of a model without attention has the scenes of a page that is not live', async () => {
        const text = 'the red cat and a blue bird and the red';
        const said = async (isLive) => {
            const file = join(scratch, `recall-${isLive}.html`);
            const options = isLive ? ['--live'] : [];
            execFileSync(attn, ['page', '-q', '-m', 'recall', text, ...options, '-o', file]);
            const found = [];
            await withPage(
                file,
                async (page) => {
                    if (isLive) await settled(page, text);
                    if (isLive) await type(page, `${text} cat`);
                    if (isLive) await type(page, text);
                    yes(await page.isVisible('#bars'), 'no prediction');
                    yes(!(await page.isVisible('#without')), 'words to leave out of no attention');
                    await page.click('#screen-motion');
                    const count = await page.locator('#scenes button').count();
                    for (let i = 0; i < count; i++) {
                        await page.click(`#scenes button >> nth=${i}`);
                        await page.locator('#motion-numbers').evaluate((one) => (one.open = true));
                        await page.locator('#motion-numbers td').first().waitFor();
                        found.push(await page.innerText('#scene-title, #scene-words'));
                        found.push(await page.locator('#motion-numbers th').allInnerTexts());
                    }
                    yes(count > 2, `${count} scenes`);
                },
                { ...WIDE, reducedMotion: 'reduce' },
            );
            return found;
        };
        same(await said(false), await said(true));
    });

    await test('if the engine or a script fails, the results are grey below a message', async () => {
        const breaks = () => {
            const check = () => {
                if (window.breaks) throw new Error('it is broken');
            };
            const own = WebAssembly.instantiate;
            WebAssembly.instantiate = async (...all) => {
                const { exports } = (await own.apply(WebAssembly, all)).instance;
                const checked = ([name, call]) => [
                    name,
                    typeof call === 'function' ? (...given) => check() || call(...given) : call,
                ];
                return { instance: { exports: Object.fromEntries(Object.entries(exports).map(checked)) } };
            };
            const { drawImage } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.drawImage = function draw(...given) {
                if (window.breaks === 'pictures') check();
                drawImage.apply(this, given);
            };
        };
        const typed = (page) => page.fill('#text', 'the dog sat');
        for (const [what, screen, act] of [
            ['engine', 'm', typed],
            ['engine', 'v', typed],
            ['engine', 'm', (page) => page.keyboard.press('v')],
            ['engine', 'm', (page) => page.keyboard.press('g')],
            ['pictures', 'm', (page) => page.keyboard.press('s')],
        ]) {
            const { page, faults } = await open(path, WIDE);
            await page.addInitScript(breaks);
            await page.reload();
            await started(page);
            await page.keyboard.press(screen);
            await quiet(page); // what follows a pause
            const before = await page.locator('#chips').textContent();
            await page.evaluate((name) => (window.breaks = name), what);
            await act(page);
            await page.locator('.stale #text-error', { hasText: 'it is broken' }).waitFor();
            same('', await page.locator('#live-note').textContent(), `note of ${what} ${screen}`);
            same('true', await page.getAttribute('#workbench', 'aria-busy'));
            same(before, await page.locator('#chips').textContent());
            yes(faults.every((one) => one.includes('it is broken')), faults.join());
            await page.evaluate(() => (window.breaks = ''));
            await page.keyboard.press('m');
            await type(page, REPEAT);
            await page.locator('body:not(.stale)').waitFor();
            await page.context().close();
        }
    });

    await test('Motion has the numbers of a typed text, from the engine', () =>
        withPage(
            path,
            async (page) => {
                await started(page);
                await type(page, LIFE);
                await page.click('#screen-motion');
                await page.click('#motion-layers [data-scene="1"]');
                await page.click('#scenes [data-scene="mlp"]');
                await page.click('#motion-numbers summary');
                await page.locator('#motion-numbers td').first().waitFor();
                const rows = await page.$$eval('#motion-numbers tbody tr', (all) =>
                    all.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
                );
                const { tensors } = json(LIFE, '--show', 'resid_post');
                same(tensors['h.1.resid_post'].at(-1).map(String), rows.at(-1));
            },
            { reducedMotion: 'reduce' },
        ));

    await test('an empty text shows a note and keeps the picture', () =>
        withPage(path, async (page) => {
            await started(page);
            const before = await weights(page, 0, 0);
            await type(page, '');
            same(before, await readTable(page));
            same('Type some text to begin.', await page.innerText('#text-error'));
            same('true', await page.getAttribute('#text', 'aria-invalid'));
            await type(page, REPEAT);
            same(before, await weights(page, 0, 0));
        }));
}
