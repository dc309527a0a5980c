// The states of paths as the exporter tells them: word, rule, rank (the higher, the worse) and colour.

const ALARMING_RANK = 80; // silent, and what is worse
let table = new Map();

export function learnStates(states) {
  table = new Map(states.map((state) => [state.word, state]));
}

export const stateOf = (word) => table.get(word) ?? { word, rank: 0, colour: "grey", rule: "" };
export const isAlarming = (word) => stateOf(word).rank >= ALARMING_RANK;
export const worstFirst = (a, b) => stateOf(b).rank - stateOf(a).rank;
