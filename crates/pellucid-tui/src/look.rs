//! What the model will see: the next request while it is written, why its parts are there, and what it costs.
//!
//! - `report`: what the client asks of the program, and the answers
//! - `outlook`: when the client asks, and what it knows of the next request
//! - `dock`: the panel above the composer, and the words of the last row
//! - `rows`: the page with every row of the request
//! - `preview`: the page with the bytes of the request
//! - `time`: the page with a request that was sent
//!
//! Not here: any figure. The program computes the report, by the functions behind `pellucid context`, `context why`, `cache`
//! and `context packs`.

pub mod dock;
pub mod outlook;
pub mod preview;
pub mod report;
pub mod rows;
pub mod time;
