// What every part of the page may ask: which queue, what is live, how to link.
import { createContext, useContext } from "./html.js";
import { queuePath } from "./api.js";
import { useResource } from "./resource.js";

export const Here = createContext(null);
export const useHere = () => useContext(Here);

/** A resource of the queue that is shown, fetched again with every `every`-th live event. */
export function useQueueResource(path, query = {}, { every = 1 } = {}) {
  const { queue, beat } = useHere();
  return useResource(path === null ? null : queuePath(queue, path), query, Math.floor(beat / every));
}
