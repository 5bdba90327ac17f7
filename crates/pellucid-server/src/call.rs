//! A request that is being done, and where its answer goes.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;

use crate::connection::Connection;
use crate::rpc;
use crate::rpc::RequestId;
use crate::rpc::RpcError;
use crate::server::Server;

/// A request that wants an answer of this type.
#[derive(Debug)]
pub struct Call<R> {
    /// Who does it.
    pub server: Arc<Server>,
    /// Who asks.
    pub connection: Arc<Connection>,
    id: RequestId,
    answer: PhantomData<fn(R)>,
}

impl<R: Serialize> Call<R> {
    /// A request of a client.
    pub fn new(server: Arc<Server>, connection: Arc<Connection>, id: RequestId) -> Self {
        Self { server, connection, id, answer: PhantomData }
    }

    /// Answers it.
    pub async fn answer(&self, result: &R) {
        self.connection.send(rpc::response(&self.id, result)).await;
    }

    /// Refuses it.
    pub async fn refuse(&self, error: &RpcError) {
        self.connection.send(rpc::refusal(Some(&self.id), error)).await;
    }
}
