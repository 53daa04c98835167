/**
 * Options of Node for the service. V8 lets the young generation grow to 96 MB for a program with much garbage; with parts of 4 MB
 * the service needs 40 MB less in a long turn and the same CPU time (`npm run bench -- engine`).
 */
export const NODE_FLAGS = ['--max-semi-space-size=4']
