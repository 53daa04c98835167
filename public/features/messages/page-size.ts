/** Messages that an opened chat loads at once. */
export const PAGE_SIZE = 60
