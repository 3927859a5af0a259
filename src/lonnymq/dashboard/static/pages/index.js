// All pages by their name in the address.
import { Audit } from "./audit.js";
import { Channel } from "./channel.js";
import { Channels } from "./channels.js";
import { Dead, DeadGroup } from "./dead.js";
import { History } from "./history.js";
import { Message } from "./message.js";
import { Messages } from "./messages.js";
import { Overview } from "./overview.js";
import { Schedules } from "./schedules.js";
import { Workers } from "./workers.js";

const PAGES = {
  overview: { title: "Overview", view: Overview },
  channels: { title: "Channels", view: Channels },
  channel: { title: "Channel", view: Channel, parent: "channels" },
  messages: { title: "Messages", view: Messages },
  message: { title: "Message", view: Message, parent: "messages" },
  dead: { title: "Dead", view: Dead },
  dead_group: { title: "Dead", view: DeadGroup, parent: "dead" },
  workers: { title: "Workers", view: Workers, isWhole: true },
  schedules: { title: "Schedules", view: Schedules, isWhole: true },
  history: { title: "History", view: History, isWhole: true },
  audit: { title: "Audit", view: Audit, isWhole: true },
};

/** The pages of the sidebar. `isWhole` marks pages about the whole queue, for users who may see all channels. */
export const NAV = Object.entries(PAGES).filter(([, { parent }]) => !parent).map(([page, { title, isWhole }]) => ({ page, title, isWhole }));
export const findPage = (word) => PAGES[word] ?? PAGES.overview;
export const findParent = (word) => PAGES[word]?.parent ?? (PAGES[word] ? word : "overview");
